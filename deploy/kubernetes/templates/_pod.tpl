{{- define "tapwire.labels" -}}
app.kubernetes.io/name: tapwire
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .role }}
{{- end }}

{{/* The template of the pods of one role: a dict of root, role and processes. */}}
{{- define "tapwire.pod" -}}
metadata:
  labels:
    {{- include "tapwire.labels" . | nindent 4 }}
  annotations:
    # A change of the settings replaces the pods.
    checksum/settings: {{ toYaml .root.Values.settings | sha256sum }}
spec:
  # preStop, the taps in flight (deadlines of switches up to 40 s), and the time to respond.
  terminationGracePeriodSeconds: {{ .root.Values.terminationGracePeriodSeconds }}
  automountServiceAccountToken: false
  {{- with .root.Values.image.pullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "tapwire.labels" . | nindent 10 }}
  securityContext:
    fsGroup: 1000
    seccompProfile: { type: RuntimeDefault }
  containers:
    - name: tapwire
      image: "{{ .root.Values.image.repository }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}"
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      # Variables take precedence over the lines of the file.
      args: ["--env-file", "/run/secrets/tapwire/tapwire.env", "start", "--role", "{{ .role }}"]
      env:
        - { name: TAPWIRE_KEYS_FILE, value: /run/secrets/tapwire/keys.json }
        # One process per pod: Kubernetes restarts and counts pods.
        - { name: TAPWIRE_PROCESSES, value: "1" }
        - { name: PORT, value: "8080" }
        {{- if .root.Values.switchTls.secret }}
        - { name: TLS_FILES_DIR, value: /run/secrets/tapwire-tls }
        {{- end }}
        {{- if .root.Values.database.cloudNativePG.enabled }}
        - name: DATABASE_URL
          valueFrom: { secretKeyRef: { name: "{{ .root.Release.Name }}-db-app", key: uri } }
        {{- end }}
        {{- range $name, $value := .root.Values.settings }}
        - name: {{ $name }}
          value: {{ $value | quote }}
        {{- end }}
      ports: [{ name: http, containerPort: 8080 }]
      # A process that stops accepts no connections. It begins when the other hosts know that the pod is not ready.
      lifecycle: { preStop: { exec: { command: ["sleep", "5"] } } }
      readinessProbe:
        httpGet: { path: /readyz, port: http }
        periodSeconds: 2
        failureThreshold: 2
      # /livez only says that the event loop runs: an unavailable database must not restart every pod.
      livenessProbe:
        httpGet: { path: /livez, port: http }
        periodSeconds: 10
        failureThreshold: 6
      # The first start waits until the database has been made.
      startupProbe:
        httpGet: { path: /readyz, port: http }
        periodSeconds: 2
        failureThreshold: 60
      resources:
        {{- toYaml .processes.resources | nindent 8 }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 1000
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: { drop: [ALL] }
      volumeMounts:
        - { name: secrets, mountPath: /run/secrets/tapwire, readOnly: true }
        {{- if .root.Values.switchTls.secret }}
        - { name: tls, mountPath: /run/secrets/tapwire-tls, readOnly: true }
        {{- end }}
        - { name: temporary, mountPath: /tmp }
  volumes:
    - name: secrets
      secret: { secretName: {{ .root.Values.secret | quote }}, defaultMode: 0400 }
    {{- if .root.Values.switchTls.secret }}
    - name: tls
      secret:
        secretName: {{ .root.Values.switchTls.secret | quote }}
        defaultMode: 0400
        items:
          {{- toYaml .root.Values.switchTls.items | nindent 10 }}
    {{- end }}
    - name: temporary
      emptyDir: {}
{{- end }}
