package httpapi

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestSuspectsAreFewAndForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSuspects()
		for n := range maxSuspects {
			s.add(fmt.Sprint(n))
		}
		s.add("0") // again, so that it is not the next to go
		s.add("new")
		if s.has("1") || !s.has("0") || !s.has("2") || !s.has("new") || len(s.byAddress) != maxSuspects || s.order.Len() != maxSuspects {
			t.Errorf("1: %v, 0: %v, 2: %v, new: %v, of %d", s.has("1"), s.has("0"), s.has("2"), s.has("new"), len(s.byAddress))
		}
		time.Sleep(suspicion - 1)
		s.add("2")
		time.Sleep(time.Nanosecond)
		if s.has("0") || !s.has("2") || len(s.byAddress) != 1 || s.order.Len() != 1 {
			t.Errorf("after a minute: 0: %v, 2: %v, of %d", s.has("0"), s.has("2"), len(s.byAddress))
		}
	})
}
