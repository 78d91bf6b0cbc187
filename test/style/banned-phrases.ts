/** A phrase that texts must not contain, and what to write instead. */
interface BannedPhrase {
  readonly pattern: RegExp;
  readonly reason: string;
}

/** Phrases that a reader has to decode (style guide, section "Language"). Add a phrase with its reason, and correct all files. */
const BANNED_PHRASES: readonly BannedPhrase[] = [
  { pattern: /\bwhoever\b/i, reason: 'name the actor, such as "the caller"' },
  { pattern: /\bwhatever\b/i, reason: 'name the cases, or write "any"' },
  // In quotes it is the name of a Unix account.
  { pattern: /(?<![`'])\bnobody\b/i, reason: 'name the actor, or use the passive' },
  { pattern: /\bsomebody\b/i, reason: 'name the actor, such as "another tenant"' },
  { pattern: /\bso many\b/i, reason: 'give the number or the limit' },
  { pattern: /\bno more(?=\s*(?:[.,;:)]|$))/i, reason: 'write "no longer" or "no further"' },
  { pattern: /\bnot any more\b|\bany more\b(?! than\b)/i, reason: 'write "no longer"' },
  { pattern: /\b(?:tells|told)\b/i, reason: 'a document states, a field contains, a response reports' },
  { pattern: /\bstands? in\b/i, reason: 'write "is in", "contains" or "replaces"' },
  { pattern: /\bas (?:it|they) stands?\b/i, reason: 'write "unchanged" or name the source' },
  { pattern: /\b(?:is|are|was|were) owed\b/i, reason: 'write "is required"' },
  { pattern: /\bof ours\b|\bnone of (?:ours|its|theirs)\b/i, reason: 'name the owner, such as "the gateway"' },
  { pattern: /\bon our side\b|\bour clock\b/i, reason: 'write "in the gateway" or "server time"' },
  { pattern: /\bunder this (?:address|id)\b/i, reason: 'write "resource not found" or "with this id"' },
  { pattern: /\b(?:is|are|was|were) away\b/i, reason: 'write "is unavailable"' },
  { pattern: /\b(?:is|are|was) gone\b/i, reason: 'write "was removed", "is closed" or "is unavailable"' },
  { pattern: /\bby (?:its|their|his)\b/i, reason: 'write "with its" or "in its"' },
  { pattern: /\bby itself\b/i, reason: 'name the actor, or write "automatically"' },
  { pattern: /\bwhat (?:became|has become) of\b/i, reason: 'write "outcome"' },
  { pattern: /\bwhere (?:it|he|she) stands\b/i, reason: 'write "status"' },
  { pattern: /\bg(?:ive|ives|ave|iven|iving) back\b/i, reason: 'write "refund" or "return"' },
  { pattern: /\bt(?:ake|akes|ook|aken|aking) back\b/i, reason: 'write "reverse" or "void"' },
  { pattern: /\bsees? to\b/i, reason: 'write "manages" or "ensures"' },
  { pattern: /\bfor good\b/i, reason: 'write "permanently"' },
  { pattern: /\banew\b/i, reason: 'write "again"' },
  { pattern: /\bis none\b/i, reason: 'say what does not exist or is not allowed' },
  { pattern: /\bhas come so far\b|\bhow far it has come\b/i, reason: 'write "state" or "progress"' },
  { pattern: /\bhalf ?way house\b|\bjourneys?\b/i, reason: 'no metaphors: name the thing' },
];

/** @returns each banned phrase in the text, with what to write instead */
export function bannedPhrasesIn(text: string): string[] {
  return BANNED_PHRASES.flatMap(({ pattern, reason }) => {
    const [found] = pattern.exec(text) ?? [];
    return found === undefined ? [] : [`"${found}": ${reason}`];
  });
}
