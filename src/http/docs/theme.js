// Runs before the page is painted, so that a chosen theme does not flash.
try {
  const theme = localStorage.getItem('tapwire-docs-theme');
  if (theme) document.documentElement.dataset.theme = theme;
} catch {
  // Storage is forbidden: the page follows the system.
}
