import { type CardTag, type ChipData, toHex } from '#processor-kit';
import type { IccElements, Type1Message } from './spec.ts';

type IccName = keyof IccElements;

/** How an EMV value becomes the text of its element: hex digits, or the last `n` digits of packed decimals. */
type ElementForm = 'hex' | 'text' | { readonly lastDigits: number };

/** What a request carries, in the order of the bitmap. Nothing outside this list leaves: no track, no PAN, no name. */
const REQUEST_ELEMENTS: readonly (readonly [name: IccName, tag: number, form: ElementForm])[] = [
  ['amountAuthorized', 0x9f02, { lastDigits: 12 }],
  ['amountOther', 0x9f03, { lastDigits: 12 }],
  ['applicationIdentifier', 0x84, 'hex'],
  ['applicationInterchangeProfile', 0x82, 'hex'],
  ['applicationTransactionCounter', 0x9f36, 'hex'],
  ['cryptogram', 0x9f26, 'hex'],
  ['cryptogramInformationData', 0x9f27, 'hex'],
  ['cvmResults', 0x9f34, 'hex'],
  ['interfaceDeviceSerial', 0x9f1e, 'text'],
  ['issuerApplicationData', 0x9f10, 'hex'],
  ['terminalApplicationVersion', 0x9f09, 'hex'],
  ['terminalCapabilities', 0x9f33, 'hex'],
  ['terminalCountryCode', 0x9f1a, { lastDigits: 3 }],
  ['terminalType', 0x9f35, { lastDigits: 2 }],
  ['terminalVerificationResults', 0x95, 'hex'],
  ['transactionCategoryCode', 0x9f53, 'text'],
  ['transactionCurrencyCode', 0x5f2a, { lastDigits: 3 }],
  ['transactionDate', 0x9a, { lastDigits: 6 }],
  ['transactionSequenceCounter', 0x9f41, { lastDigits: 8 }],
  ['transactionType', 0x9c, { lastDigits: 2 }],
  ['unpredictableNumber', 0x9f37, 'hex'],
];

/** What an issuer sends to the card, as `cardTags` gives it: tag, element, and whether the element is text. */
const ISSUER_ELEMENTS: readonly (readonly [tag: string, name: IccName, isText: boolean])[] = [
  ['91', 'issuerAuthenticationData', false],
  ['71', 'issuerScriptTemplate1', false],
  ['72', 'issuerScriptTemplate2', false],
  ['8A', 'authorizationResponseCode', true],
];

/** `<Name>value</Name>` with nothing but letters and digits in it: the leaves of the document, whatever stands around. */
const XML_LEAF = /<([A-Za-z0-9]{1,64})>([0-9A-Za-z ]*)<\/\1>/g;

const HEX = /^(?:[0-9A-F]{2})+$/;

/** 127.25 of a request, in the form that the switch takes. */
export function chipFields(chip: ChipData, form: 'bitmap' | 'xml'): Pick<SwitchData, 'icc' | 'iccXml'> {
  const elements = requestElements(chip);
  return form === 'bitmap' ? { icc: elements } : { iccXml: writeXml('IccRequest', elements) };
}

/** 127.25 of a response, in the form of its request. */
export function issuerFields(elements: IccElements, request: Type1Message): Pick<SwitchData, 'icc' | 'iccXml'> {
  if (request.switchData?.iccXml !== undefined) return { iccXml: writeXml('IccResponse', elements) };
  return request.switchData?.icc === undefined ? {} : { icc: elements };
}

/** The elements of 127.25 in either form; empty when there are none. */
export function iccOf(message: Type1Message): IccElements {
  const { icc, iccXml } = message.switchData ?? {};
  return icc ?? (iccXml === undefined ? {} : readXml(iccXml));
}

/** Tags 91, 71, 72 and 8A of a response, as hex. What is no hex is left out: it would not help a card. */
export function cardTagsOf(response: Type1Message): CardTag[] {
  const icc = iccOf(response);
  return ISSUER_ELEMENTS.flatMap(([tag, name, isText]) => {
    const element = icc[name];
    if (element === undefined) return [];
    const value = isText ? toHex(new TextEncoder().encode(element)) : element.toUpperCase();
    return HEX.test(value) ? [{ tag, value }] : [];
  });
}

type SwitchData = NonNullable<Type1Message['switchData']>;

function requestElements(chip: ChipData): IccElements {
  const elements: IccElements = {};
  for (const [name, tag, form] of REQUEST_ELEMENTS) {
    const value = chip.hex(tag);
    if (value !== undefined) elements[name] = elementText(value, form);
  }
  return elements;
}

function elementText(hex: string, form: ElementForm): string {
  if (form === 'hex') return hex;
  if (form === 'text')
    return Buffer.from(hex, 'hex')
      .toString('latin1')
      .replaceAll(/[^0-9A-Za-z ]/g, ' ')
      .trimEnd();
  return hex.slice(-form.lastDigits);
}

/** Elements are called in XML as in the bitmap, with a capital. */
function writeXml(root: 'IccRequest' | 'IccResponse', elements: IccElements): string {
  const leaves = Object.entries(elements).map(([name, value]) => {
    const element = name.charAt(0).toUpperCase() + name.slice(1);
    return `<${element}>${value}</${element}>`;
  });
  return `<?xml version="1.0"?><IccData><${root}>${leaves.join('')}</${root}></IccData>`;
}

function readXml(xml: string): IccElements {
  const elements: Record<string, string> = {};
  for (const [, element, value] of xml.matchAll(XML_LEAF)) {
    elements[element!.charAt(0).toLowerCase() + element!.slice(1)] = value!;
  }
  return elements;
}
