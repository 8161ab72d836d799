"""The web page and its API: imported only for `ralph web`; Starlette and uvicorn are an extra."""
