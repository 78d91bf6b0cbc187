import { testManners } from './ill-mannered.ts';

testManners([
  ['none', 'type-2'],
  ['none', 'type-1993'],
]);
