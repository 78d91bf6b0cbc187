/**
 * What a document has between `<!-- name -->` and `<!-- /name -->` is made from the code; the rest is written by hand.
 *
 * @returns the document with these sections made anew
 * @throws Error for a section that the document has no place for, or a place that nobody fills: a programmer's error
 */
export function withSections(document: string, sections: Readonly<Record<string, string>>): string {
  const places = [...document.matchAll(/<!-- ([a-z-]+) -->\n/g)].map(([, name]) => name!);
  for (const name of Object.keys(sections)) {
    if (!places.includes(name)) throw new Error(`The document has no place for ${name}`);
  }
  return places.reduce((text, name) => {
    const section = sections[name];
    if (section === undefined) throw new Error(`Nothing is made for ${name}`);
    const place = new RegExp(`(?<=<!-- ${name} -->\\n)[\\s\\S]*?(?=<!-- /${name} -->)`);
    return text.replace(place, () => `\n${section}\n\n`);
  }, document);
}
