// Before anything is drawn: scripts are there, and the theme that was chosen last.
document.documentElement.classList.add("scripts");
try {
  const chosen = localStorage.getItem("rars-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // A browser that keeps nothing: the system's theme.
}
