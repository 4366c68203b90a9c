"""Quality measures of soft partitions: validity, accuracy and membership strength."""
