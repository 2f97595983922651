output {
