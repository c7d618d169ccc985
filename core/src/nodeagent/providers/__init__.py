"""Providers that come with the core; found by their entry points, like any other provider."""
