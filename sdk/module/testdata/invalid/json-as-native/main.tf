{"variable": {"x": {}}}
