module example.test/project

go 1.26.0
