"""Property tests here are about what is true, not how long it takes on a busy machine."""

import hypothesis

hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")
