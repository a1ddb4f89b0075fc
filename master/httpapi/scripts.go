package httpapi

import "net/http"

// unsniffed has browsers take answers for what they say they are, and not for a
// script that a page of somebody else may run.
func unsniffed(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		h.ServeHTTP(w, r)
	})
}

// unscripted refuses scripts to those who have come in by a password. Their browsers
// give it for any page that they visit, and a script is all that such a page can
// read of the answer.
func unscripted(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if Principal(r.Context()) != "" && r.URL.Query().Has("jsonp") {
			RefuseEarly(w, r, http.StatusForbidden, "jsonp is not for who gives a password: every page that he visits could read the answer")
			return
		}
		h.ServeHTTP(w, r)
	})
}
