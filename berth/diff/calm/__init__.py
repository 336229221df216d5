"""What a headline may be calm about: every difference that is not of a reviewed, harmless kind is named in it."""
