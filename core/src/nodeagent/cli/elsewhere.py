"""Another process, for the smoke: it opens the store that stdin describes, and prints one receipt."""

from nodeagent.cli.places import main

if __name__ == "__main__":
    main()
