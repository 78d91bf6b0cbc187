import { testManners } from './ill-mannered.ts';

testManners([
  ['poor', 'type-1'],
  ['none', 'type-1'],
]);
