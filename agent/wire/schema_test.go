package wire

import "testing"

// Which members came is a mask of 64 bits.
func TestObjectsHaveNoMoreMembersThanBits(t *testing.T) {
	f := opt("m", text[string](), same[string])
	fields := make([]field[string], 65)
	for i := range fields {
		fields[i] = f
	}
	object(fields[:64]...)
	defer func() {
		if recover() == nil {
			t.Error("an object of 65 members is taken")
		}
	}()
	object(fields...)
}
