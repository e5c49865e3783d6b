"""The models an analyst may fit; each says what every record contributes, so that any sampling design suits it."""
