import { count, figure, h, rate, rowOf, sum } from './dom.js';
import { switchName } from './names.js';

/** @typedef {import('../frame.ts').Frame} Frame */
/** @typedef {ReturnType<typeof groupOutcomes>[number]} OutcomeGroup */

/**
 * Groups outcomes by processor and scheme.
 *
 * @param {Frame['outcomes']} outcomes
 */
export function groupOutcomes(outcomes) {
  const groups = Map.groupBy(outcomes, ({ processor, scheme }) => `${processor}|${scheme}`);
  return [...groups]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, each]) => {
      const of = (/** @type {string[]} */ ...names) =>
        sum(
          each.filter(({ disposition }) => names.includes(disposition)),
          ({ total }) => total,
        );
      // A voided transaction had an outcome before.
      const first = each.filter(({ disposition }) => disposition !== 'Voided');
      const total = sum(first, (outcome) => outcome.total);
      const [approved, declined] = [of('Approved'), of('Declined', 'DeclinedOffline')];
      return {
        key,
        approved,
        declined,
        total,
        undecided: total - approved - declined,
        voided: of('Voided'),
        perSecond: sum(first, (outcome) => outcome.perSecond),
        processor: each[0].processor,
        scheme: each[0].scheme,
      };
    });
}

/** @returns {import('./dom.js').Kept<OutcomeGroup>} */
export function outcomeRow() {
  return rowOf([
    { of: ({ processor }) => (processor === '' ? 'no switch' : switchName(processor)) },
    { of: ({ scheme }) => scheme },
    { of: showShare },
    figure(({ approved }) => count(approved)),
    figure(({ declined }) => count(declined)),
    figure(
      ({ undecided }) => count(undecided),
      ({ undecided }) => (undecided > 0 ? 'warn' : ''),
    ),
    figure(({ voided }) => count(voided)),
    figure(({ perSecond }) => rate(perSecond)),
  ]);
}

/**
 * A bar with three parts; the figures beside it have the same values.
 *
 * @param {OutcomeGroup} group
 * @param {any} cell
 */
function showShare({ approved, declined, undecided, total }, cell) {
  cell.parts ??= ['good', 'warn', 'bad'].map((state) => h('i', { 'data-state': state }));
  if (!cell.firstChild) cell.append(h('span', { class: 'share', 'aria-hidden': 'true' }, cell.parts));
  for (const [at, part] of [approved, declined, undecided].entries())
    cell.parts[at].style.width = `${(part / Math.max(total, 1)) * 100}%`;
}
