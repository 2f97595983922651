package bad

import "testing"

func TestDouble(t *testing.T) {
	t.Run("two", func(t *testing.T) {
		if got := Double(2); got != 4 {
			t.Errorf("Double(2) = %d", got)
		}
	})
	t.Run("five", func(t *testing.T) {
		if got := Double(5); got != 10 {
			t.Errorf("Double(5) = %d", got)
		}
	})
}
