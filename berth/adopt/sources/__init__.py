"""What people have instead of a cluster's answers: blueprints, command lines and Terraform."""
