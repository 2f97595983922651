(function () {
  "use strict";
  var root = document.documentElement;
  root.classList.add("scripted");

  // Colours: as the system has them, or as the reader wants them.
  var button = document.getElementById("theme");
  var themes = ["system", "light", "dark"];
  function recall() { try { return localStorage.getItem("captf-theme") || "system"; } catch (e) { return "system"; } }
  function show(theme) {
    if (theme === "system") root.removeAttribute("data-theme"); else root.setAttribute("data-theme", theme);
    button.textContent = "Colours: " + theme;
  }
  var theme = recall();
  if (themes.indexOf(theme) < 0) theme = "system";
  show(theme);
  button.addEventListener("click", function () {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    try { localStorage.setItem("captf-theme", theme); } catch (e) { /* the choice lasts as long as the page */ }
    show(theme);
  });

  // The command to copy.
  document.querySelectorAll(".copy").forEach(function (b) {
    b.addEventListener("click", function () {
      var code = b.parentElement.querySelector("code");
      function done() { b.textContent = "Copied"; setTimeout(function () { b.textContent = "Copy"; }, 1500); }
      function mark() { var r = document.createRange(); r.selectNodeContents(code); var s = getSelection(); s.removeAllRanges(); s.addRange(r); }
      if (navigator.clipboard) navigator.clipboard.writeText(code.textContent).then(done, mark); else mark();
    });
  });

  // The size of a timeline; the middle of what is seen stays there.
  document.querySelectorAll(".timelinebox").forEach(function (box) {
    var view = box.querySelector(".timeline"), canvas = box.querySelector(".canvas"), zoom = 1;
    var width = parseFloat(canvas.style.getPropertyValue("--w"));
    box.querySelectorAll("[data-zoom]").forEach(function (b) {
      b.addEventListener("click", function () {
        var by = parseFloat(b.getAttribute("data-zoom")), middle = (view.scrollLeft + view.clientWidth / 2) / canvas.offsetWidth;
        zoom = by ? Math.min(Math.max(zoom * by, 0.05), 12) : Math.max(view.clientWidth - 240, 200) / width;
        canvas.style.setProperty("--zoom", zoom);
        view.scrollLeft = middle * canvas.offsetWidth - view.clientWidth / 2;
      });
    });
  });

  // The lines of a story that are shown.
  document.querySelectorAll(".storybox").forEach(function (box) {
    var rows = Array.prototype.slice.call(box.querySelectorAll("tbody tr"));
    var fields = box.querySelectorAll("[data-filter]"), shown = box.querySelector(".shown");
    function apply() {
      var want = {}, n = 0;
      fields.forEach(function (f) { want[f.getAttribute("data-filter")] = f.value; });
      var text = want.text.trim().toLowerCase();
      rows.forEach(function (r) {
        var ok = (!want.type || r.getAttribute("data-type") === want.type) && (!want.object || r.cells[2].textContent === want.object) &&
          (!text || r.textContent.toLowerCase().indexOf(text) >= 0);
        r.hidden = !ok;
        if (ok) n++;
      });
      shown.textContent = n;
    }
    fields.forEach(function (f) { f.addEventListener("input", apply); });
  });

  // What is folded is printed too, and opened where a link leads into it.
  var folded = [];
  addEventListener("beforeprint", function () {
    folded = Array.prototype.slice.call(document.querySelectorAll("details:not([open])"));
    folded.forEach(function (d) { d.open = true; });
  });
  addEventListener("afterprint", function () { folded.forEach(function (d) { d.open = false; }); });
  function reveal() {
    var id = decodeURIComponent(location.hash.slice(1)), target = id && document.getElementById(id);
    if (!target) return;
    for (var e = target; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
    target.scrollIntoView();
  }
  addEventListener("hashchange", reveal);
  if (location.hash) reveal();
})();
