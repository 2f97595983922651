package runtime_test

func killableHarness(dir string) int { return 0 }
