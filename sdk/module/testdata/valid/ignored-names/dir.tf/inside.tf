not read {
