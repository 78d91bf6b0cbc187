import { actButton } from './acts.js';
import { addToCharts, resetCharts } from './charts.js';
import { age, byId, bytes, count, emptyNote, h, keepInStep, ms, rate, rowOf, setText } from './dom.js';

let source;

/** Follows the figures until the session ends. */
export function follow(onOver) {
  stop();
  source = new EventSource('/ops/stream');
  source.addEventListener('history', (event) => resetCharts(JSON.parse(event.data)));
  source.addEventListener('frame', (event) => show(JSON.parse(event.data)));
  source.onopen = () => pulse('live', 'on');
  source.onerror = () => {
    pulse('not connected, trying again', 'off');
    if (source.readyState === EventSource.CLOSED) onOver();
  };
}

export function stop() {
  source?.close();
  source = undefined;
}

function pulse(text, state) {
  setText(byId('pulse'), text);
  byId('pulse').dataset.state = state;
}

function show(frame) {
  const { switches, backlog, processes } = frame;
  addToCharts(frame);
  setText(byId('rate-said'), `${rate(frame.taps.perSecond)} now`);
  setText(byId('latency-said'), `p50 ${ms(frame.taps.p50)}, p99 ${ms(frame.taps.p99)} milliseconds now`);
  showTiles(frame);
  keepInStep(byId('switches'), switches, ({ processId, name }) => `${processId} ${name}`, switchRow);
  emptyNote(byId('switches'), 13, 'No worker with a switch is up.');
  keepInStep(byId('outcomes'), groupOutcomes(frame.outcomes), ({ key }) => key, outcomeRow);
  emptyNote(byId('outcomes'), 7, 'No tap was decided yet.');
  keepInStep(byId('processes'), processes, ({ id }) => id, processRow);
  if (!backlog) return;
  keepInStep(byId('queues'), backlog.queues, ({ queue }) => queue, queueRow);
  keepInStep(
    byId('webhooks'),
    backlog.webhooks,
    ({ acquirerId, integratorId, serves }) => `${acquirerId} ${integratorId} ${serves}`,
    webhookRow,
  );
  emptyNote(byId('webhooks'), 4, 'Nobody is registered for webhooks.');
  keepInStep(byId('owed'), backlog.owed, ({ acquirerId }) => acquirerId, owedRow);
  emptyNote(byId('owed'), 3, 'Nothing is uncertain.');
  keepInStep(byId('dead'), backlog.deadLetters, ({ id }) => id, deadRow);
  emptyNote(byId('dead'), 5, 'No job was given up.');
  showDatabase(frame);
}

const sum = (items, of) => items.reduce((total, item) => total + of(item), 0);

function showTiles({ taps, outcomes, backlog, commits }) {
  const total = sum(outcomes, (outcome) => outcome.total);
  const approved = sum(
    outcomes.filter(({ disposition }) => disposition === 'Approved'),
    (outcome) => outcome.total,
  );
  const owed = backlog ? sum(backlog.owed, ({ reversalsOwed }) => reversalsOwed) : 0;
  const review = backlog ? sum(backlog.owed, ({ needsReview }) => needsReview) : 0;
  const pending = backlog ? sum(backlog.webhooks, (endpoint) => endpoint.pending) : 0;
  const dead = backlog?.deadLetters.length ?? 0;
  const tiles = [
    { name: 'Taps per second', value: rate(taps.perSecond) },
    { name: 'Latency p50', value: ms(taps.p50), unit: 'ms' },
    { name: 'Latency p99', value: ms(taps.p99), unit: 'ms' },
    { name: 'Approved', value: total === 0 ? '–' : rate((approved / total) * 100), unit: total === 0 ? '' : '%' },
    { name: 'Failed per second', value: rate(taps.failedPerSecond), mark: taps.failedPerSecond > 0 && 'bad' },
    { name: 'Reversals owed', value: count(owed), mark: owed > 0 && 'warn' },
    { name: 'For a person', value: count(review), mark: review > 0 && 'bad' },
    { name: 'Webhooks due', value: count(pending), mark: pending > 1_000 && 'warn' },
    { name: 'Dead letters', value: dead >= 100 ? '100+' : count(dead), mark: dead > 0 && 'bad' },
    ...(commits ? [{ name: 'Commit p99', value: ms(commits.p99), unit: 'ms' }] : []),
  ];
  keepInStep(
    byId('tiles'),
    tiles,
    ({ name }) => name,
    ({ name }) => {
      const value = h('b');
      const unit = h('small');
      const element = h('div', {}, h('dt', {}, name), h('dd', {}, value, ' ', unit));
      return {
        element,
        update(tile) {
          setText(value, tile.value);
          setText(unit, tile.unit ?? '');
          element.className = tile.mark || '';
        },
      };
    },
  );
}

const chip = (cell, text, state) => {
  cell.chip ??= cell.appendChild(h('span', { class: 'chip' }));
  setText(cell.chip, text);
  cell.chip.dataset.state = state;
};

const STATES = { ready: 'good', full: 'warn', connecting: 'warn', draining: 'warn', down: 'bad', closed: 'bad' };
const figure = (of, mark) => ({ isFigure: true, of, mark });
const trouble = (of) =>
  figure(
    (item) => count(of(item)),
    (item) => (of(item) > 0 ? 'warn' : ''),
  );

function switchRow() {
  return rowOf([
    { of: ({ name, type }) => `${name.replace(' ', ' · ')}  ${type}` },
    { of: ({ availability }, cell) => chip(cell, availability, STATES[availability]) },
    { of: (item, cell) => showLines(item, cell) },
    figure(({ inFlight }) => count(inFlight)),
    figure((item) => rate(item.answeredPerSecond)),
    figure((item) => ms(item.p50)),
    figure((item) => ms(item.p99)),
    trouble((item) => item.timedOut),
    trouble((item) => item.late),
    trouble((item) => item.unmatched),
    trouble((item) => item.badMacs),
    figure((item) => count(item.reconnects)),
    {
      of: ({ lastEchoAtMs }) =>
        lastEchoAtMs === null ? '–' : `${age((Date.now() - lastEchoAtMs) / 1_000)} ago`.replace('now ago', 'now'),
    },
  ]);
}

function showLines(item, cell) {
  keepInStep(
    cell,
    item.lines,
    ({ id }) => id,
    (line) => lineOf(item, line),
  );
}

function lineOf({ processId, name }, { id }) {
  const [acquirerId, processorId] = name.split(' ').map(Number);
  const state = h('span', { class: 'chip' });
  const address = h('span', { class: 'mono' });
  const buttons = h('span');
  const element = h('div', { class: 'line' }, state, ' ', address, ' ', buttons);
  const button = (what) => {
    const isOff = what === 'signOff';
    return actButton({
      label: isOff ? 'Sign off' : 'Sign on',
      name: `${isOff ? 'Sign off' : 'Sign on'} ${id}`,
      title: isOff ? 'Sign this line off?' : 'Sign this line on?',
      text: isOff
        ? `${id} finishes what is in flight, signs off, and stays down until somebody signs it on. Taps go by other lines; where there is none, they cannot go online.`
        : `${id} is dialled and signed on anew, and takes taps again.`,
      yes: isOff ? 'Sign off' : 'Sign on',
      body: { act: what, processId, acquirerId, processorId, line: id },
    });
  };
  let shown;
  return {
    element,
    update(line) {
      setText(state, line.isHeld ? 'signed off' : line.state);
      state.dataset.state = line.isHeld ? 'bad' : STATES[line.state];
      setText(address, line.address);
      const wanted = line.isHeld || line.state === 'down' ? 'signOn' : 'signOff';
      if (shown !== wanted) buttons.replaceChildren(...[button(wanted)].filter(Boolean));
      shown = wanted;
    },
  };
}

function groupOutcomes(outcomes) {
  const groups = Map.groupBy(outcomes, ({ processor, scheme }) => `${processor}|${scheme}`);
  return [...groups]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, each]) => {
      const of = (...names) =>
        sum(
          each.filter(({ disposition }) => names.includes(disposition)),
          ({ total }) => total,
        );
      const total = sum(each, (outcome) => outcome.total);
      const [approved, declined] = [of('Approved'), of('Declined', 'DeclinedOffline')];
      return {
        key,
        approved,
        declined,
        total,
        other: total - approved - declined,
        perSecond: sum(each, (outcome) => outcome.perSecond),
        processor: each[0].processor,
        scheme: each[0].scheme,
      };
    });
}

function outcomeRow() {
  return rowOf([
    { of: ({ processor }) => (processor === '' ? 'none asked' : processor.replace(' ', ' · ')) },
    { of: ({ scheme }) => scheme },
    { of: showShare },
    figure(({ approved }) => count(approved)),
    figure(({ declined }) => count(declined)),
    figure(
      ({ other }) => count(other),
      ({ other }) => (other > 0 ? 'warn' : ''),
    ),
    figure(({ perSecond }) => rate(perSecond)),
  ]);
}

/** A bar of three parts; the figures beside it say the same. */
function showShare({ approved, declined, other, total }, cell) {
  cell.parts ??= ['good', 'warn', 'bad'].map((state) => h('i', { 'data-state': state }));
  if (!cell.firstChild) cell.append(h('span', { class: 'share', 'aria-hidden': 'true' }, cell.parts));
  for (const [at, part] of [approved, declined, other].entries())
    cell.parts[at].style.width = `${(part / Math.max(total, 1)) * 100}%`;
}

function processRow({ id }) {
  return rowOf([
    { of: ({ role, host, pid }) => `${role} · ${host} · ${pid}` },
    { of: (item, cell) => showProcess(id, item, cell) },
    figure(
      ({ busy }) => `${count(busy * 100)} %`,
      ({ busy }) => (busy > 0.85 ? 'warn' : ''),
    ),
    figure(({ rssBytes }) => bytes(rssBytes)),
    figure(({ startedAtMs }) => age((Date.now() - startedAtMs) / 1_000)),
    figure(
      ({ clients }) => `${clients.used} of ${clients.used + clients.idle}`,
      ({ clients }) => (clients.waiting > 0 ? 'warn' : ''),
    ),
    figure(({ messages }) =>
      messages.dropped > 0 ? `${count(messages.kept)}, ${count(messages.dropped)} not` : count(messages.kept),
    ),
  ]);
}

function showProcess(id, { isDraining, role }, cell) {
  chip(cell, isDraining ? 'draining' : 'up', isDraining ? 'warn' : 'good');
  if (cell.isDraining === isDraining) return;
  cell.isDraining = isDraining;
  cell.button?.remove();
  cell.button = actButton({
    label: isDraining ? 'Take up' : 'Drain',
    name: `${isDraining ? 'Take up' : 'Drain'} the process ${role}`,
    title: isDraining ? 'Let this process take traffic again?' : 'Drain this process?',
    text: isDraining
      ? 'It says that it is ready, and load balancers send it new requests.'
      : 'It says that it is not ready: load balancers send it nothing new, and what is under way is answered. It goes on until it is stopped or taken up again.',
    yes: isDraining ? 'Take up' : 'Drain',
    body: { act: isDraining ? 'resume' : 'drain', processId: id },
  });
  if (cell.button) cell.append(' ', cell.button);
}

function queueRow() {
  return rowOf([
    { of: ({ queue }) => queue },
    figure(
      ({ ready }) => count(ready),
      ({ ready }) => (ready > 1_000 ? 'warn' : ''),
    ),
    figure(({ active }) => count(active)),
    figure(({ waiting }) => count(waiting)),
    figure(
      ({ retry }) => count(retry),
      ({ retry }) => (retry > 0 ? 'warn' : ''),
    ),
    figure(
      ({ dead }) => count(dead),
      ({ dead }) => (dead > 0 ? 'bad' : ''),
    ),
    figure(
      ({ oldestReadySeconds: oldest }) => (oldest === null ? '–' : age(oldest)),
      ({ oldestReadySeconds: oldest }) => (oldest > 60 ? 'warn' : ''),
    ),
  ]);
}

function webhookRow() {
  return rowOf([
    { of: ({ acquirerId, integratorId }) => `${acquirerId} · ${integratorId}` },
    { of: ({ serves }) => serves },
    { of: ({ isDisabled }, cell) => chip(cell, isDisabled ? 'disabled' : 'listening', isDisabled ? 'bad' : 'good') },
    figure(({ pending }) => count(pending)),
  ]);
}

function owedRow() {
  return rowOf([
    { of: ({ acquirerId }) => acquirerId },
    figure(
      ({ reversalsOwed }) => count(reversalsOwed),
      ({ reversalsOwed }) => (reversalsOwed > 0 ? 'warn' : ''),
    ),
    figure(
      ({ needsReview }) => count(needsReview),
      ({ needsReview }) => (needsReview > 0 ? 'bad' : ''),
    ),
  ]);
}

function deadRow({ id, queue }) {
  return rowOf([
    { of: ({ diedAt }) => `${age((Date.now() - Date.parse(diedAt)) / 1_000)} ago` },
    { of: (letter) => letter.queue },
    { of: ({ reason }) => reason },
    {
      of: ({ names }) =>
        Object.entries(names)
          .map(([name, value]) => `${name} ${value}`)
          .join(', '),
    },
    {
      of: (_letter, cell) => {
        if (cell.firstChild) return;
        const button = actButton({
          label: 'Redrive',
          name: `Redrive the dead letter ${id}`,
          title: 'Give this job back to its queue?',
          text: `It goes to ${queue} as if it were new, and has all its retries again.`,
          yes: 'Redrive',
          body: { act: 'redriveDeadLetter', id },
        });
        if (button) cell.append(button);
      },
    },
  ]);
}

function showDatabase({ commits, backlog }) {
  const { database } = backlog;
  if (!database) return;
  const facts = [
    { name: 'Size', value: bytes(database.bytes) },
    {
      name: 'Connections',
      value: `${count(database.connections)} of ${count(database.mostConnections)}, ${count(database.active)} at work`,
    },
    { name: 'Commits per second', value: rate(commits.perSecond) },
    { name: 'Commit p50', value: `${ms(commits.p50)} ms` },
    { name: 'Commit p99', value: `${ms(commits.p99)} ms` },
  ];
  keepInStep(
    byId('database'),
    facts,
    ({ name }) => name,
    ({ name }) => {
      const value = h('dd');
      return { element: h('div', {}, h('dt', {}, name), value), update: (fact) => setText(value, fact.value) };
    },
  );
}
