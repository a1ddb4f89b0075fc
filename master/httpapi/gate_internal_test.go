package httpapi

import "testing"

func TestANetworkOfIPv6CountsAsOneAddress(t *testing.T) {
	for remote, want := range map[string]string{
		"10.0.0.1:1234": "10.0.0.1", "[::ffff:10.0.0.1]:1234": "10.0.0.1", "pipe": "pipe",
		"[2001:db8:1:2::1]:1": "2001:db8:1:2::/64", "[2001:db8:1:2:3:4:5:6]:2": "2001:db8:1:2::/64", "[fe80::1%eth0]:1": "fe80::/64",
	} {
		if got := origin(remote); got != want {
			t.Errorf("%s counts as %s, want %s", remote, got, want)
		}
	}
}
