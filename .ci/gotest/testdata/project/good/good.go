package good

func Half(n int) int {
	if n < 0 {
		return -Half(-n)
	}
	return n / 2
}
