"""What is watched and when somebody is called: the tables beside this file, for one fleet and one backend."""
