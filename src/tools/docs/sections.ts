/**
 * Replaces the sections between `<!-- name -->` and `<!-- /name -->`, which are generated from the code. The rest
 * of the document is written by hand.
 *
 * @returns the document with the sections replaced
 * @throws Error for a section without a place in the document, or a place without a section: a programming error
 */
export function withSections(document: string, sections: Readonly<Record<string, string>>): string {
  const places = [...document.matchAll(/<!-- ([a-z-]+) -->\n/g)].map(([, name]) => name!);
  for (const name of Object.keys(sections)) {
    if (!places.includes(name)) throw new Error(`The document has no place for the section ${name}.`);
  }
  return places.reduce((text, name) => {
    const section = sections[name];
    if (section === undefined) throw new Error(`The section ${name} has no text.`);
    const place = new RegExp(`(?<=<!-- ${name} -->\\n)[\\s\\S]*?(?=<!-- /${name} -->)`);
    return text.replace(place, () => `\n${section}\n\n`);
  }, document);
}
