<<<<<<< HEAD
variable "a" {}
=======
>>>>>>> x
