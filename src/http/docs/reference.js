// The API reference: Swagger UI with the API document of this server. If the document contains credentials (a demo on
// the local machine), the page fills them in, and every example can be sent unchanged.
const response = await fetch('/docs/openapi.json', { headers: { accept: 'application/json' } });
const spec = await response.json();
const credentials = spec['x-credentials'] ?? {};

const ui = SwaggerUIBundle({
  spec,
  dom_id: '#reference',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  filter: true,
  tryItOutEnabled: true,
  validatorUrl: null,
  onComplete: () => {
    for (const [scheme, value] of Object.entries(credentials)) ui.preauthorizeApiKey(scheme, value);
  },
});
