"""What machines cost by the hour, by a table of prices that the user wrote. Without one, nothing is guessed."""
