"""Failures that come from elsewhere, and cases that go there: logs, parcels, shells with our hook. Runs nothing."""
