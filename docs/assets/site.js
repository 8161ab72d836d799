// Browsers break lines after a hyphen: `--worktree` would be torn. Short pieces of code stay on one line.
for (const code of document.querySelectorAll(".md-typeset :not(pre) > code"))
  if (code.textContent.length <= 24) code.style.whiteSpace = "nowrap";
