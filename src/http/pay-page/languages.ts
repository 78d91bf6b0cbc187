import af from './texts/af.json' with { type: 'json' };
import de from './texts/de.json' with { type: 'json' };
import en from './texts/en.json' with { type: 'json' };
import es from './texts/es.json' with { type: 'json' };
import fr from './texts/fr.json' with { type: 'json' };
import pt from './texts/pt.json' with { type: 'json' };

export type PayPageTexts = typeof en;

/** The texts of a pay page by language. A file with another key than English does not compile. */
export const TEXTS: Readonly<Record<string, PayPageTexts>> = { en, af, de, es, fr, pt };

const BY_DEFAULT = 'en';

/** A language range with its weight (RFC 9110 12.5.4). */
const RANGE = /^([a-z]{1,8}|\*)(?:-[a-z0-9-]+)?(?:\s*;\s*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?$/i;

/** The language that suits `Accept-Language` best; English if none does, or if the header cannot be read. */
export function languageFor(acceptLanguage: string | undefined): string {
  const wanted = (acceptLanguage ?? '').split(',').flatMap((part) => {
    const [, language, weight = '1'] = RANGE.exec(part.trim()) ?? [];
    return language !== undefined && Number(weight) > 0
      ? [{ language: language.toLowerCase(), weight: Number(weight) }]
      : [];
  });
  // Sorting is stable, so of equal weights the first comes first.
  const known = wanted
    .sort((one, other) => other.weight - one.weight)
    .find(({ language }) => Object.hasOwn(TEXTS, language));
  return known?.language ?? BY_DEFAULT;
}
