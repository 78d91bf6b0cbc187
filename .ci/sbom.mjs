// Prints the software bill of materials (CycloneDX) of what an installation can have. `npm sbom --omit dev` leaves out
// dependencies that packages of development need, too (npm 11.19), so those are removed here, by the mark that npm sets.
import { execFileSync } from 'node:child_process';

const DEVELOPMENT = 'cdx:npm:package:development';

const options = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'];
const all = JSON.parse(execFileSync('npm', options, { encoding: 'utf8', maxBuffer: 100_000_000 }));
const isMarked = ({ properties = [] }) => properties.some(({ name }) => name === DEVELOPMENT);
const removed = new Set(all.components.filter(isMarked).map((component) => component['bom-ref']));
const components = all.components.filter((component) => !removed.has(component['bom-ref']));
const dependencies = all.dependencies
  .filter(({ ref }) => !removed.has(ref))
  .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((each) => !removed.has(each)) }));
// npm takes the name of the folder that the repository is in.
const [name] = all.metadata.component['bom-ref'].split('@');
const metadata = { ...all.metadata, component: { ...all.metadata.component, name } };
console.log(JSON.stringify({ ...all, metadata, components, dependencies }, null, 2));
