package bare

func Untested() bool { return true }
