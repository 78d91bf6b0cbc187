import { testBehaviours } from './faulty-switches.ts';

testBehaviours([
  ['faulty', 'type-1'],
  ['arbitrary', 'type-1'],
]);
