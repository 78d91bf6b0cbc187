import { testBehaviours } from './faulty-switches.ts';

testBehaviours([
  ['arbitrary', 'type-2'],
  ['arbitrary', 'type-1993'],
]);
