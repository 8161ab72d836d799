// Before the first paint: the theme that was chosen here, if any. Without one the system decides.
(function () {
  var chosen = null;
  try {
    chosen = localStorage.getItem("ralph-theme");
  } catch (error) {
    chosen = null; // storage is switched off
  }
  if (chosen === "light" || chosen === "dark") {
    document.documentElement.dataset.theme = chosen;
  }
})();
