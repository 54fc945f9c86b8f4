"""Text of web pages as their readers see it; its libraries load late."""
