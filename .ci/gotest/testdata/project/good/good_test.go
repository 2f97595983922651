package good

import "testing"

func TestHalf(t *testing.T) {
	t.Log("noise that nobody needs")
	t.Run("positive", func(t *testing.T) {
		if Half(4) != 2 {
			t.Fatal("wrong")
		}
	})
	t.Run("negative", func(t *testing.T) { t.Skip("the sign is not settled") })
}

func TestSilent(t *testing.T) { t.SkipNow() }
