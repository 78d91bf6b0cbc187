import type1 from '../../../processors/type-1/index.ts';
import type { IsoMessage } from '../../../src/kits/processor-kit/iso-fields.ts';
import type { Choice } from '../explore/choices.ts';
import type { Execution } from '../explore/execution.ts';
import { takeUnmatched } from '../explore/unmatched.ts';
import { LONGEST_TRANSIT_MS, mayArrive, nameOf, type SentRequest } from '../switch/sent-request.ts';
import { statementOf } from '../switch/statements.ts';
import type { HonestSwitch, Receipt } from './honest-switch.ts';

type Type1Message = Parameters<typeof type1.simulate>[0];

/** A request arrives, or arrives once more; its response arrives, or does not, or once more. Nothing else is up to chance. */
export function honestChoices(execution: Execution, honest: HonestSwitch): Choice[] {
  const { standsIn = false, cutsOver = false } = honest.behaviour;
  const ofRequests = execution.requests.flatMap((request) => [
    ...arrivals(execution, honest, request),
    ...responses(honest, request),
    ...(standsIn ? laterDeclines(honest, request) : []),
  ]);
  const cutOver: Choice = {
    word: 'the switch cuts over',
    happen: (within) => {
      within.honest!.day++;
    },
  };
  return [...ofRequests, ...(cutsOver && honest.day === 1 && honest.entries.length > 0 ? [cutOver] : [])];
}

function arrivals(execution: Execution, honest: HonestSwitch, request: SentRequest): Choice[] {
  const { number, kind, writtenAtMs } = request;
  const { doubles = false, troubles = [] } = honest.behaviour;
  const times = honest.receiptsOf(number).length;
  const isFirst = mayArrive(request, execution.requests, execution.time.nowMs);
  const mayRepeat = doubles && times === 1 && execution.time.nowMs - writtenAtMs <= LONGEST_TRANSIT_MS;
  if (!isFirst && !mayRepeat) return [];
  const how = times === 0 ? 'arrives' : 'arrives again';
  const inTrouble = kind === 'reversal' || times > 0 ? [] : troubles;
  return [
    {
      word: `request ${number} ${how}, and its response`,
      happen: (within) => respond(within, arrive(within, number)),
    },
    { word: `request ${number} ${how}`, happen: (within) => void arrive(within, number) },
    ...inTrouble.map((code): Choice => {
      const word = `request ${number} ${how}, is booked, and got ${code}`;
      return { word, happen: (within) => respond(within, arrive(within, number, code)) };
    }),
  ];
}

/** A response that was under way, or one that the network doubles. */
function responses({ behaviour, receipts }: HonestSwitch, { number }: SentRequest): Choice[] {
  const mostTimes = behaviour.doubles ? 2 : 1;
  return receipts.flatMap(({ request, delivered }, index): Choice[] => {
    if (request !== number || delivered >= mostTimes) return [];
    const word = `response ${index + 1}, to request ${number}${delivered === 0 ? '' : ', again'}`;
    return [{ word, happen: (within) => respond(within, within.honest!.receipts[index]!) }];
  });
}

function laterDeclines({ entries }: HonestSwitch, { number }: SentRequest): Choice[] {
  const index = entries.findIndex(({ request, state }) => request === number && state === 'booked');
  if (index < 0) return [];
  const word = `the issuer declines request ${number} after all, the switch says 51`;
  return [{ word, happen: (within) => respond(within, within.honest!.declineLater(index)) }];
}

/** The switch receives a request. */
export function arrive(execution: Execution, number: number, trouble?: string): Receipt {
  const request = execution.requests[number - 1]!;
  request.isTaken = true;
  const receipt = execution.honest!.receive(request.message, number, trouble);
  execution.tell(`    ${nameOf(request)} has arrived: ${receipt.reply.code}`);
  return receipt;
}

/** A response arrives: at the request that waits for it, or as an unmatched one. */
export function respond(execution: Execution, receipt: Receipt): void {
  const { request: number, reply } = receipt;
  const { code, authorizationCode, entry } = reply;
  receipt.delivered++;
  const request = execution.requests[number - 1]!;
  const statement = {
    ...statementOf(request, { code }, execution.ledger, execution.time.nowMs),
    authorizationCode,
    sentBefore: execution.requests.length,
  };
  const said = execution.statements.push(statement) - 1;
  if (entry !== undefined) execution.honest!.deliveries.push({ statement: said, entry });
  const content = { responseCode: code, amountMinor: undefined, authorizationCode };
  const response: IsoMessage = { ...type1.simulate(request.message as Type1Message, content) };
  execution.tell(`    ${nameOf(request)} is got ${code} ${authorizationCode ?? ''}`);
  const waiting = execution.waiting.get(number);
  if (waiting) {
    waiting.task.hears(said);
    waiting.end({ response });
    return;
  }
  const name = `${code} ${authorizationCode ?? ''} to request ${number}`;
  takeUnmatched(execution, execution.processNamed(request.processName), { response, said, name });
}
