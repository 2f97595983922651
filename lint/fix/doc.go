// Package fix edits a module so that findings go away whose remedy cannot break
// it: it declares missing contract inputs, adds `sensitive = true`, and wraps
// the list of members in sort(). Comments and layout stay.
//
// Not in this package: finding what is wrong (package lint), and edits that need
// a decision, such as the value of a missing output.
package fix
