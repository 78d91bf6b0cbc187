/** The interactive part of the report: the figures under the pointer. Charts and tables are complete without it. */
export const REPORT_SCRIPT = `
for (const plot of document.querySelectorAll('.plot')) {
  const { x, time, rows } = JSON.parse(plot.dataset.chart);
  const svg = plot.querySelector('svg'), cursor = plot.querySelector('.cursor'), tip = plot.querySelector('.tip');
  plot.addEventListener('pointermove', (event) => {
    const box = svg.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
    let nearest = 0;
    x.forEach((each, index) => { if (Math.abs(each - at) < Math.abs(x[nearest] - at)) nearest = index; });
    cursor.setAttribute('x1', x[nearest]);
    cursor.setAttribute('x2', x[nearest]);
    tip.replaceChildren(Object.assign(document.createElement('b'), { textContent: time[nearest] }));
    for (const { name, colour, values } of rows) {
      const line = document.createElement('div'), mark = document.createElement('i');
      mark.style.background = 'var(' + colour + ')';
      line.append(mark, name + '  ' + values[nearest]);
      tip.append(line);
    }
    tip.hidden = false;
    const left = (x[nearest] / svg.viewBox.baseVal.width) * box.width;
    tip.style.left = (left > box.width / 2 ? left - tip.offsetWidth - 12 : left + 12) + 'px';
  });
  plot.addEventListener('pointerleave', () => { tip.hidden = true; });
}
`;
