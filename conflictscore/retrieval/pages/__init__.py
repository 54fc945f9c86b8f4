"""The pages behind search results, fetched safely; its libraries (extra ``fetch``) load late."""
