"""Values that know whether they are private or seen: what an algorithm's code does with them, whatever they are."""
