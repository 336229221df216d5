"""Windows of guarantees in time: when each begins and ends, what holds at an instant, what changes next."""
