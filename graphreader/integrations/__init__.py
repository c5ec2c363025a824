"""Integrations of GraphReader into LangChain, LangGraph and langchain-neo4j."""
