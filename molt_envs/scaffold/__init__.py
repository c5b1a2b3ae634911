"""New environments: packages written from templates, one folder of templates for each kind."""
