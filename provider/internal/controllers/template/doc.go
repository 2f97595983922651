// Package template reconciles TerraformMachineTemplates and TerraformClusterTemplates (provider-api.md 5 and 7): whether a
// template's variables fit the module that it names, and what the machines that are made of it offer, for scaling from zero.
// Nothing waits for either; a mistake is to be seen before the first Machine is made.
//
// An image is read once per reference, a failed read again after 30 seconds, then twice as long each time, up to ten
// minutes (B-916). Sources of variables are read again when their metadata changed.
//
// Not in this package: reading images (provider/internal/inspect), and immutability of templates (admission).
package template
